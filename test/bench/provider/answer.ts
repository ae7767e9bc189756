import { jsonResponse } from './template.js'

/** The answer to a request. Its body is created when it is sent, so that waiting answers need no memory. */
export interface Answer {
  readonly endpoint: string
  /** Identifies the requests that a run may send only once. */
  readonly key: string
  readonly response: () => Buffer
  /** The reason if the request is invalid. */
  readonly violation?: string
}

export const violation = (endpoint: string, message: string): Answer => ({
  endpoint,
  key: message,
  violation: `${endpoint}: ${message}`,
  response: () => jsonResponse({ message }, 400),
})
