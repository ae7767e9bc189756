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
  throw new PageError(
    (body as ApiError | undefined)?.error ?? `the server answered ${response.status}`,
    response.status,
  )
}

/** Loads what takes a moment, after the rest of the view is shown; an error is shown in its place. */
export const fetchLater = <T>(path: string, set: (answer: T | Error) => void, update: () => void): void => {
  fetchJson<T>(path)
    .then(set, (error: unknown) => set(error instanceof Error ? error : new Error(String(error))))
    .finally(update)
}

/**
 * What a part of a view needs beside its data. It is loaded once another key asks for it, which stops the
 * load before; `stop` when the view is left.
 */
export interface Later<T> {
  /** The answer; undefined until it is there. */
  readonly read: (key: string, load?: (signal: AbortSignal) => Promise<T>) => T | Error | undefined
  readonly stop: () => void
}

/** `isKept`: the answer before is shown until the new one comes. */
export const createLater = <T>(update: () => void, isKept = false): Later<T> => {
  let own: { readonly key: string; answer?: T | Error } | undefined
  let loading = new AbortController()
  return {
    read: (key, load = (signal) => fetchJson<T>(key, { signal })) => {
      if (own?.key !== key) {
        loading.abort()
        loading = new AbortController()
        const { signal } = loading
        const asked: typeof own = {
          key,
          ...(isKept && own?.answer !== undefined ? { answer: own.answer } : {}),
        }
        own = asked
        void load(signal)
          .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))
          .then((answer) => {
            if (signal.aborted) return
            asked.answer = answer
            update()
          })
      }
      return own.answer
    },
    stop: () => {
      loading.abort()
      own = undefined
    },
  }
}

const rethrow = (error: unknown): never => {
  if (error instanceof DOMException && error.name === 'AbortError') throw error
  throw new PageError(
    `The server of this page has ended. Start "${formatCommand('serve')}" again: this view then loads by itself.`,
  )
}

interface PageGlobals {
  readonly document: {
    readonly documentElement: { readonly dataset: Readonly<Record<string, string | undefined>> }
  }
}

/** A command as it is typed where the server of this page was started. */
export const formatCommand = (args: string): string => {
  const { command = 'scripstream' } = (globalThis as unknown as PageGlobals).document.documentElement.dataset
  return `${command} ${args}`
}
