import { firstValueFrom, type Observable } from 'rxjs'
import { createCollector, type RunReport, type SettingsInput } from 'scripstream'
import { fleet, fleetWorker, workerName } from 'scripstream/fleet'
import { streams } from 'scripstream/streams'

/** Where the processes of an app meet; all of them are given the same. */
export interface Meeting {
  /** `redis://host:6379`, with `?prefix=` of its own where others use the server too. */
  readonly address: string
  /** A folder that all machines share. */
  readonly blobs: string
  readonly allowVolatile?: boolean
}

/** The app's own version: its workers understand the items of no other. */
const version = '1.0.0'

/** Works for the app's runs until `stop` emits, and then ends what it has in work. Any number of these, on any machine. */
export const work = (meeting: Meeting, print: (line: string) => void, stop: Observable<unknown>): void => {
  fleetWorker({ ...meeting, version, streams, headers: {}, name: workerName(), stop }).subscribe({
    next: (news) => {
      if (news.type !== 'settled') print(news.type === 'run' ? 'works for a run' : `works for the fleet at ${news.shown}`)
    },
    error: ({ message }: Error) => print(message),
    complete: () => print('has ended its work'),
  })
}

/** One run, whose items are worked on by whoever is there; its outputs are in the folder that the settings name. */
export const collect = (meeting: Meeting, settings: SettingsInput): Promise<RunReport> =>
  firstValueFrom(createCollector({ settings, engine: fleet({ ...meeting, version }) }).run())
