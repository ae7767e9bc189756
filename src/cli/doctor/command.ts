import { defer, switchMap } from 'rxjs'
import { asOfOption } from '../as-of.js'
import type { AddCommand } from '../dependencies.js'
import { exampleText, simulateOption, withFolderOptions } from '../options.js'
import type { DoctorFlags } from './doctor.js'

const examples = [
  ['scripstream doctor', 'sends one request to each endpoint and reports what fails'],
  ['scripstream doctor --json', 'the same as JSON'],
  ['scripstream doctor --simulate', 'the output when everything works'],
] as const

const DOCTOR_EXIT_CODES = `
Exit codes:
  0    everything works
  1    something does not work; the cause and what to do are shown
  2    wrong usage or configuration
  3    everything works, but answers have changed
  130  stopped by Ctrl+C
`

export const addDoctor: AddCommand = (program, { io, dependencies, act }) => {
  withFolderOptions(
    program
      .command('doctor')
      .description('Checks this machine and sends one request to each endpoint: what works, how fast, what has changed.'),
    'output folder of a run (default: ./data)',
  )
    .addOption(asOfOption(io))
    .addOption(simulateOption())
    .option('--json', 'print JSON on stdout')
    .addHelpText('after', exampleText(examples) + DOCTOR_EXIT_CODES)
    .action((flags: DoctorFlags) =>
      act(defer(() => import('./doctor.js')).pipe(switchMap(({ doctorCommand }) => doctorCommand(flags, io, dependencies)))),
    )
}
