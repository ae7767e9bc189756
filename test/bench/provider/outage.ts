import { rmSync, writeFileSync } from 'node:fs'
import type { Front } from './front.js'

/**
 * Kinds of outages. `killed`: connections are reset and new ones refused. `frozen`: requests are accepted and
 * never answered, not even after the outage. `503`: every answer is an HTML page with that status. `dns`:
 * connections are reset, and the name does not resolve.
 */
export const outageKinds = ['killed', 'frozen', '503', 'dns'] as const
export type OutageKind = (typeof outageKinds)[number]

export interface Outage {
  readonly kind: OutageKind
  readonly ms: number
  /** Starts after a number of answers of an endpoint; at once if absent. */
  readonly after?: { readonly endpoint: string; readonly answers: number }
}

/** Epoch milliseconds; `to` is absent during the outage. */
export interface OutageSpan {
  readonly from: number
  readonly to?: number
}

const PAGE =
  '<!DOCTYPE html><html><head><title>503 Service Temporarily Unavailable</title></head><body><h1>503</h1></body></html>'

export const unavailable = Buffer.from(
  `HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/html\r\ncontent-length: ${PAGE.length}\r\n\r\n${PAGE}`,
)

/**
 * @param namesFile exists while the host name must not resolve; `failing-names.ts` checks it in the product's
 * process
 */
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
    /** Ends the current outage and plans the next one; `null` plans none. */
    plan: async (outage: Outage | null): Promise<void> => {
      await end()
      planned = outage ?? undefined
      span = undefined
      answers = 0
      if (planned !== undefined && planned.after === undefined) begin(planned)
    },
    /** Counts an answer; starts the planned outage when its number is reached. */
    countAnswer: (endpoint: string): void => {
      if (planned?.after?.endpoint === endpoint && ++answers >= planned.after.answers) begin(planned)
    },
    activeKind: (): OutageKind | undefined => active?.kind,
    span: (): OutageSpan | undefined => span,
  }
}
