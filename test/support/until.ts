import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** How long a test waits for one thing, as `vitest.config.ts` says. */
    readonly waitMs: number
  }
}

/** Waits for something that other turns of the event loop bring about. @throws if it does not come about */
export const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const end = performance.now() + inject('waitMs')
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`never came about: ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
