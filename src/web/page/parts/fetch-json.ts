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

/**
 * Loads a part of the data of a view that takes a moment, after the rest is shown; an error is shown in its
 * place, unless the server has ended: then the answer before stays.
 */
export const fetchPart = async <Data extends object>(
  data: Data,
  name: keyof Data,
  path: string,
  { update, signal }: { readonly update: () => void; readonly signal?: AbortSignal },
): Promise<void> => {
  const answer = await fetchJson(path, signal && { signal }).catch((error: unknown) => error)
  const hasEnded = answer instanceof PageError && answer.status === undefined
  if (signal?.aborted || (hasEnded && data[name] !== undefined)) return
  Object.assign(data, { [name]: answer })
  update()
}

/**
 * What a part of a view needs beside its data. It is loaded once another key asks for it, which stops the
 * load before; `stop` when the view is left.
 */
export type Later<T> = ReturnType<typeof createLater<T>>

/** `isKept`: the answer before is shown until the new one comes. */
export const createLater = <T>(update: () => void, isKept = false) => {
  let own: { readonly key: string; answer?: T | Error } | undefined
  let loading = new AbortController()
  return {
    /** The answer; undefined until it is there. */
    read: (
      key: string,
      load = (signal: AbortSignal) => fetchJson<T>(key, { signal }),
    ): T | Error | undefined => {
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
          .catch((error: Error) => error)
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
