import { createJsonResponse } from './template.js'

/** The answer to a request. Its body is created when it is sent, so that waiting answers need no memory. */
export interface BenchAnswer {
  readonly endpoint: string
  /** Identifies the requests that a run may send only once. */
  readonly key: string
  readonly response: () => Buffer
  /** The reason if the request is invalid. */
  readonly violation?: string
}

export const createViolation = (endpoint: string, message: string): BenchAnswer => ({
  endpoint,
  key: message,
  violation: `${endpoint}: ${message}`,
  response: () => createJsonResponse({ message }, 400),
})
