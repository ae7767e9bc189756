import { catchError, endWith, finalize, from, ignoreElements, share, switchMap, tap } from 'rxjs'
import { UsageError } from '../model/errors.js'
import { defineCommand } from './command.js'
import { FLEET_ENV, resolveFleet, rethrowAsUsageError } from './fleet.js'
import { blobsOption, configFlags, engineOption, flag, integerOption, volatileOption } from './options.js'
import { warnOfMisspeltVariables } from './provider.js'
import { formatText } from './terminal/terminal.js'
import { formatQuantity } from './terminal/text.js'

/** Works for a fleet until a signal; then finishes the active items. A second signal stops it at once. */
export const addWorker = defineCommand({
  name: 'worker',
  about: 'Works for runs with the same --engine, on this machine or others, until it is stopped.',
  flags: () => ({
    engine: engineOption(),
    blobs: blobsOption(),
    name: flag('--name <name>', 'name in the report (default: host name and process)'),
    concurrency: integerOption(
      '--concurrency <n>',
      'most items of one stream at a time (default: a fair share)',
      [1, 1_000],
    ),
    ...configFlags('settings file; a worker uses only its headers, and those of its hosts'),
    allowVolatile: volatileOption(),
  }),
  examples: [
    [
      'scripstream worker --engine redis://10.0.0.5:6379 --blobs /mnt/market',
      'a worker for the fleet on this Redis',
    ],
    ['scripstream run --engine redis://10.0.0.5:6379 --blobs /mnt/market', 'on one machine: the run itself'],
    [
      'SCRIPSTREAM_ENGINE=redis://:password@10.0.0.5 scripstream worker --blobs /mnt/market',
      'keeps the password out of the process list',
    ],
  ],
  exits: {
    0: 'stopped by a signal after the active items',
    130: 'stopped at once by a second Ctrl+C; other workers take over',
  },
  run: (flags, { io, dependencies, settings }) => {
    const location = resolveFleet(flags, io.env)
    if (location === undefined)
      throw new UsageError(
        `--engine: no fleet given; add --engine redis://host:6379, or set ${FLEET_ENV.engine}`,
      )
    warnOfMisspeltVariables(io, dependencies)
    const { headers, hosts } = settings()
    const say = (text: string): void => void io.stderr.write(formatText(text, io.stderr))
    const signal$ = io.signal$.pipe(share())
    let signals = 0
    const listening = signal$.subscribe(() => {
      signals += 1
      if (signals === 1)
        say(
          'Stopping: active items finish first. Press Ctrl+C again to stop at once; other workers take over.',
        )
      else io.exit(130)
    })
    return from(dependencies.fleet()).pipe(
      switchMap(({ fleetWorker, workerName }) => {
        const { concurrency } = flags
        const name = flags.name ?? workerName()
        const { version, streams } = dependencies
        let items = 0
        const news$ = fleetWorker({
          ...location,
          headers,
          hosts,
          name,
          concurrency,
          version,
          streams,
          stop: signal$,
        })
        return news$.pipe(
          tap((news) => {
            if (news.type === 'joined')
              say(`${news.name} works for the fleet at ${news.shown}; press Ctrl+C to stop.`)
            if (news.type === 'run') say(`Working for run ${news.run}.`)
            if (news.type === 'item-finished') items += 1
          }),
          finalize(() => say(`${formatQuantity(items, 'item')} finished since this worker joined`)),
          ignoreElements(),
          endWith(0),
          catchError(rethrowAsUsageError),
        )
      }),
      finalize(() => listening.unsubscribe()),
    )
  },
})
