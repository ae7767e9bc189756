import { rmSync, writeFileSync } from 'node:fs'
import type { Front } from './front.js'
import { responseOf } from './template.js'

/**
 * How the provider is away. `killed`: connections break and new ones are refused. `frozen`: requests are accepted and never answered, also
 * not afterwards. `503`: every answer is a page with that status. `dns`: connections break, and the name does not resolve for new ones.
 */
export const outageKinds = ['killed', 'frozen', '503', 'dns'] as const
export type OutageKind = (typeof outageKinds)[number]

export interface Outage {
  readonly kind: OutageKind
  readonly ms: number
  /** Begins once so many requests of an endpoint were answered; at once if absent. */
  readonly after?: { readonly endpoint: string; readonly answers: number }
}

/** Epoch milliseconds; `to` is absent while it lasts. */
export interface OutageSpan {
  readonly from: number
  readonly to?: number
}

const PAGE = '<!DOCTYPE html><html><head><title>503 Service Temporarily Unavailable</title></head><body><h1>503</h1></body></html>'

export const unavailable = responseOf(503, 'text/html', Buffer.from(PAGE))

/** @param namesFile exists while the provider's name must not resolve; `failing-names.ts` looks for it in the product's process */
export const createOutages = (front: Front, namesFile: string | undefined) => {
  let planned: Outage | undefined
  let active: Outage | undefined
  let span: OutageSpan | undefined
  let answers = 0
  let timer: NodeJS.Timeout | undefined

  const end = async (): Promise<void> => {
    clearTimeout(timer)
    if (active === undefined) return
    if (namesFile !== undefined) rmSync(namesFile, { force: true })
    await front.reopen()
    active = undefined
    if (span !== undefined) span = { ...span, to: Date.now() }
  }
  const begin = (outage: Outage): void => {
    planned = undefined
    active = outage
    span = { from: Date.now() }
    if (outage.kind === 'killed') front.close()
    if (outage.kind === 'dns') {
      if (namesFile !== undefined) writeFileSync(namesFile, '')
      front.breakConnections()
    }
    timer = setTimeout(() => void end(), outage.ms)
  }
  return {
    /** Ends what is under way and plans the next outage; `null` plans none. */
    plan: async (outage: Outage | null): Promise<void> => {
      await end()
      planned = outage ?? undefined
      span = undefined
      answers = 0
      if (planned !== undefined && planned.after === undefined) begin(planned)
    },
    /** Counts an answer towards the beginning of the planned outage. */
    countAnswer: (endpoint: string): void => {
      if (planned?.after?.endpoint === endpoint && ++answers >= planned.after.answers) begin(planned)
    },
    activeKind: (): OutageKind | undefined => active?.kind,
    span: (): OutageSpan | undefined => span,
  }
}
