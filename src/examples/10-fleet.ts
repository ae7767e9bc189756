/** A collector and its workers on several machines. Needs `npm install bullmq@6 ioredis@6` and a Redis. */
import { firstValueFrom, type Observable } from 'rxjs'
import { createCollector, type RunReport, type SettingsInput } from 'scripstream'
import { fleet, fleetWorker, workerName } from 'scripstream/fleet'
import { streams } from 'scripstream/streams'

/** The shared resources of an app; all its processes use the same. */
export interface Meeting {
  /** `redis://host:6379`; add `?prefix=` if the server is shared. */
  readonly address: string
  /** A folder that all machines share. */
  readonly blobs: string
  readonly allowVolatile?: boolean
}

/**
 * The app's version: workers accept only items of their own version, and of the same build of scripstream.
 */
const version = '1.0.0'

/**
 * Works for the app's runs until `stop` emits, then finishes its active items. Start any number, on any
 * machine.
 */
export const work = (meeting: Meeting, print: (line: string) => void, stop: Observable<unknown>): void => {
  fleetWorker({ ...meeting, version, streams, headers: {}, name: workerName(), stop }).subscribe({
    next: (news) => {
      if (news.type !== 'item-finished')
        print(news.type === 'run' ? 'works for a run' : `works for the fleet at ${news.shown}`)
    },
    error: ({ message }: Error) => print(message),
    complete: () => print('has ended its work'),
  })
}

/** One run; its items go to all connected workers. The outputs are in the folder of the settings. */
export const collect = (meeting: Meeting, settings: SettingsInput): Promise<RunReport> =>
  firstValueFrom(createCollector({ settings, engine: fleet({ ...meeting, version }) }).run())
