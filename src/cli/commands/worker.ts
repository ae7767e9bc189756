import { workerCommand } from '../fleet.js'
import { exampleText } from '../help.js'
import { blobsOption, engineOption, integerOption, volatileOption } from '../options.js'
import type { AddCommand } from './context.js'

interface WorkerInput {
  readonly engine?: string
  readonly blobs?: string
  readonly allowVolatile?: boolean
  readonly name?: string
  readonly concurrency?: number
  readonly config?: string
}

const examples = [
  ['scripstream worker --engine redis://10.0.0.5:6379 --blobs /mnt/market', 'a worker for the fleet on this Redis'],
  ['scripstream run --engine redis://10.0.0.5:6379 --blobs /mnt/market', 'on one machine: the run itself'],
  ['SCRIPSTREAM_ENGINE=redis://:password@10.0.0.5 scripstream worker --blobs /mnt/market', 'keeps the password out of the process list'],
] as const

const WORKER_EXIT_CODES = `
Exit codes:
  0    stopped by a signal after the active items finished
  2    wrong usage or configuration, or an unusable Redis
  130  stopped at once by a second Ctrl+C; other workers take over its items
`

export const addWorker: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('worker')
    .description('Works for runs with the same --engine, on this machine or others, until it is stopped.')
    .addOption(engineOption())
    .addOption(blobsOption())
    .option('--name <name>', 'name in the report (default: host name and process)')
    .addOption(integerOption('--concurrency <n>', 'most items of one stream at a time (default: a fair share)', [1, 1_000]))
    .option('--config <file>', 'settings file; a worker uses only its headers')
    .addOption(volatileOption())
    .addHelpText('after', exampleText(examples) + WORKER_EXIT_CODES)
    .action(({ engine, blobs, allowVolatile = false, name, concurrency, config }: WorkerInput) =>
      act(workerCommand({ engine, blobs, allowVolatile, name, concurrency, config }, io, dependencies)),
    )
}
