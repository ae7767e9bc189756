import { defineCommand } from '../command.js'
import { runFlags } from './flags.js'
import { runCommand } from './run.js'

export const addRun = defineCommand({
  name: 'run',
  about: 'Runs all streams once and writes the outputs.',
  flags: runFlags,
  examples: [
    ['scripstream run --simulate=50', '50 simulated stocks, to ./data'],
    ['scripstream run --only market-news --symbols INFY,TCS', 'one stream'],
    ['scripstream run --retry-failed', 'exactly what failed last time'],
  ],
  notes: () => ['More flags and all settings: scripstream help settings'],
  exits: { 3: 'something is missing, or answers have changed' },
  run: runCommand,
})
