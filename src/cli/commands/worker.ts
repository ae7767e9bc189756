import { workerCommand } from '../fleet.js'
import { exampleText } from '../help.js'
import { blobsOption, engineOption, volatileOption, wholeOption } from '../options.js'
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
  ['scripstream worker --engine redis://10.0.0.5:6379 --blobs /mnt/market', 'work for the fleet that meets there'],
  ['scripstream run --engine redis://10.0.0.5:6379 --blobs /mnt/market', 'on one machine: the run that they work for'],
  ['SCRIPSTREAM_ENGINE=redis://:password@10.0.0.5 scripstream worker --blobs /mnt/market', 'a password that nobody sees'],
] as const

const NOTES = `
Exit codes:
  0    told to stop, and everything in work is ended
  2    wrong usage or configuration, or a Redis that cannot be used
  130  stopped at once by a second Ctrl+C; others take over what was in work
`

export const addWorker: AddCommand = (program, { shell, parts, act }) => {
  program
    .command('worker')
    .description('Works for runs with the same --engine, on this machine or others, until it is stopped.')
    .addOption(engineOption())
    .addOption(blobsOption())
    .option('--name <name>', 'as in the report (default: the machine and the process)')
    .addOption(wholeOption('--concurrency <n>', 'items of one stream at a time, at most (default: a fair share)', [1, 1_000]))
    .option('--config <file>', 'settings file, of which only the headers count here')
    .addOption(volatileOption())
    .addHelpText('after', exampleText(examples) + NOTES)
    .action(({ engine, blobs, allowVolatile = false, name, concurrency, config }: WorkerInput) =>
      act(workerCommand({ engine, blobs, allowVolatile, name, concurrency, config }, shell, parts)),
    )
}
