import type { RunEvent } from '../model/event.js'

/** A host, or one endpoint of it. */
interface Hold {
  readonly host: string
  readonly endpoint?: string
}

type HoldEvent = Extract<RunEvent, { readonly type: 'host-paused' | 'host-resumed' }>

/** Measures for how long hosts are held, by the times of events. */
export interface HoldTimer {
  /** Returns whether a hold begins with this event. */
  readonly record: (hold: Hold, event: HoldEvent) => boolean
  /** Ends all holds: the run is over. */
  readonly end: (at: number) => void
}

/** `add` receives the time since the last event of a hold: while it lasts, each probe that fails causes one. */
export const createHoldTimer = (add: (hold: Hold, seconds: number) => void): HoldTimer => {
  const open = new Map<string, { readonly hold: Hold; readonly at: number }>()
  const close = (key: string, at: number): void => {
    const before = open.get(key)
    if (before) add(before.hold, Math.max(0, at - before.at) / 1_000)
    open.delete(key)
  }
  return {
    record: (hold, { type, at }) => {
      const key = `${hold.host} ${hold.endpoint ?? ''}`
      const isNew = type === 'host-paused' && !open.has(key)
      close(key, at)
      if (type === 'host-paused') open.set(key, { hold, at })
      return isNew
    },
    end: (at) => {
      for (const key of [...open.keys()]) close(key, at)
    },
  }
}
