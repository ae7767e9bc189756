import { z } from 'zod'
import { createLiveFileReader } from '../../storage/live-file.js'
import type { LiveRunState } from '../api/live.js'
import type { LiveSource } from './live-hub.js'

const texts = z.looseObject({ reason: z.string() })
const [text, number] = [z.string(), z.number()]

/** What the page needs of a run. */
const LiveShape = z.looseObject({
  ...{ run: text, asOf: number, startedAt: number, at: number, stocks: number, done: number, share: number },
  ...{ total: number.optional(), leftMs: number.optional(), bytesPerSecond: number.optional() },
  fleet: z.looseObject({ workers: z.array(z.looseObject({ name: text, items: number, perSecond: number })), stalled: number }).optional(),
  phases: z.array(
    z.looseObject({
      ...{ phase: text, title: text, note: text, isSequential: z.boolean() },
      streams: z.array(z.looseObject({ name: text, summary: text })),
    }),
  ),
  streams: z.array(
    z.looseObject({
      ...{ name: text, state: text, done: number, workers: number, requests: number, retries: number, rateLimited: number },
      ...{ lost: number, partial: number, files: number, stored: number, statuses: z.record(text, number) },
      ...{ failures: z.array(texts), warnings: z.array(texts), marbles: z.array(z.tuple([text, text])) },
      pauses: z.array(z.looseObject({ what: text, why: text, since: number, until: number })),
    }),
  ),
})

/** The state of a run in a live file; undefined if it has another shape. */
export const parseLiveState = (state: unknown): LiveRunState | undefined => LiveShape.safeParse(state).data as LiveRunState | undefined

/** The run that another process has started on a folder. */
export const openLiveFile = (root: string): LiveSource => createLiveFileReader(root, parseLiveState)
