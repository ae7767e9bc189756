import type { ApiError } from '../../api/state.js'

/** An error whose message is a sentence for the reader. */
export class PageError extends Error {
  override readonly name = 'PageError'

  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message)
  }
}

/** The JSON answer of the server. @throws PageError with the server's own sentence */
export const fetchJson = async <T>(path: string, options: RequestInit = {}): Promise<T> => {
  const response = await fetch(path, options).catch(rethrow)
  const body = (await response.json().catch((error: unknown) => {
    // Not JSON: the status says what happened.
    if (!(error instanceof SyntaxError)) rethrow(error)
  })) as T | ApiError | undefined
  if (response.ok && body !== undefined) return body as T
  throw new PageError((body as ApiError | undefined)?.error ?? `the server answered ${response.status}`, response.status)
}

/** Loads what takes a moment, after the rest of the view is shown; an error is shown in its place. */
export const fetchLater = <T>(path: string, set: (answer: T | Error) => void, update: () => void): void => {
  fetchJson<T>(path)
    .then(set, (error: unknown) => set(error instanceof Error ? error : new Error(String(error))))
    .finally(update)
}

const rethrow = (error: unknown): never => {
  if (error instanceof DOMException && error.name === 'AbortError') throw error
  throw new PageError('The server of this page has ended. Start "scripstream serve" again: this view then loads by itself.')
}
