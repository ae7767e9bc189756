import { jsonResponse } from './template.js'

/** What is answered to a request: made when it is sent, so that what waits holds no body. */
export interface Answer {
  readonly endpoint: string
  /** Tells apart what may be asked once each in a run. */
  readonly key: string
  readonly response: () => Buffer
  /** Why it is not a request that the provider knows. */
  readonly violation?: string
}

export const violation = (endpoint: string, message: string): Answer => ({
  endpoint,
  key: message,
  violation: `${endpoint}: ${message}`,
  response: () => jsonResponse({ message }, 400),
})
