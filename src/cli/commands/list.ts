import { formatJson } from '../../model/text.js'
import { exampleText } from '../help.js'
import { listDocument, listLines } from '../list.js'
import { printText } from '../print-text.js'
import { paintLine, readSize } from '../terminal.js'
import type { AddCommand } from './context.js'

const examples = [
  ['scripstream list', 'every stream with its endpoints and files'],
  ['scripstream list --json', 'the same as JSON'],
] as const

export const addList: AddCommand = (program, { io, dependencies, act }) => {
  const forPeople = (): string =>
    listLines(dependencies.streams, readSize(io.stdout).columns)
      .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, io.stdout)}\n`)
      .join('')
  program
    .command('list')
    .description('Shows the streams: phases, workers, endpoints and outputs.')
    .option('--json', 'print JSON on stdout')
    .addHelpText('after', exampleText(examples))
    .action(({ json }: { readonly json?: boolean }) =>
      act(printText(io, () => (json ? `${formatJson(listDocument(dependencies.streams), 2)}\n` : forPeople()))),
    )
}
