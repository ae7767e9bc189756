import type { AnyEndpoint } from './endpoint.js'

/** One attempt of a request that is about to be sent. */
export interface RequestStart {
  readonly endpoint: AnyEndpoint
  /** Epoch milliseconds. */
  readonly at: number
  /** Without secrets: its query is masked. */
  readonly url: string
  /** The stock, index or list. */
  readonly item: string
  /** 0 for the first attempt, 1 for the first retry. */
  readonly attempt: number
}

/** The end of one request, without its input and headers. */
export interface RequestEnd {
  readonly endpoint: AnyEndpoint
  /** When it was sent, epoch milliseconds. */
  readonly at: number
  /** Duration until the reply was complete, or the request failed. */
  readonly ms: number
  /** Absent without a complete reply. */
  readonly status: number | undefined
  /** Size of the decompressed body. */
  readonly bytes: number
  /** The code of the failure: `http_403`, `rate_limit`, `html`, `deadline`, `cancelled`; absent on success. */
  readonly failure: string | undefined
}

/** Follows one attempt of a request. */
export interface RequestFollower {
  /** Must call `send` once, at once. What runs within it, such as the client of HTTP, belongs to the request. */
  readonly run: (send: () => void) => void
  readonly end: (end: RequestEnd) => void
}

/** Observes the requests of a stream. */
export interface RequestWatch {
  readonly begin?: ((start: RequestStart) => RequestFollower) | undefined
  readonly end: (end: RequestEnd) => void
}
