/** The part of a budget that one answer takes. */
export interface BodyShare {
  /** Bytes of the answer have come; calls `pause` if they are too many for now. */
  readonly take: (bytes: number) => void
  /** The answer is read, or will not be; harmless more than once. */
  readonly release: () => void
}

/** Bounds the bytes of all answers that are on their way, or wait to be read. */
export interface BodyBudget {
  readonly open: (flow: { readonly pause: () => void; readonly resume: () => void }) => BodyShare
}

/** Far more than usual answers take together, and two of the largest allowed. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * Beyond the limit one answer at a time is read on, so that it ends and makes room; the others are not read until then, and what they
 * would bring waits at the host. All together never hold more than the limit and one largest answer.
 */
export const createBodyBudget = (limit = MAX_BYTES): BodyBudget => {
  const paused = new Set<{ readonly go: () => void }>()
  let total = 0
  let favoured: object | undefined
  const makeRoom = (): void => {
    for (const next of paused) {
      if (total > limit && favoured !== undefined) return
      if (total > limit) favoured = next
      paused.delete(next)
      next.go()
    }
  }
  return {
    open: ({ pause, resume }) => {
      let own = 0
      const share = { go: resume }
      return {
        take: (bytes) => {
          own += bytes
          total += bytes
          if (total <= limit || favoured === share || paused.has(share)) return
          if (favoured === undefined) favoured = share
          else {
            paused.add(share)
            pause()
          }
        },
        release: () => {
          total -= own
          own = 0
          paused.delete(share)
          if (favoured === share) favoured = undefined
          if (paused.size > 0) makeRoom()
        },
      }
    },
  }
}
