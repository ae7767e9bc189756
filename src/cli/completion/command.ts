import { Argument } from 'commander'
import { sectionNames } from '../../analysis/diff/change.js'
import { checkNames } from '../../analysis/verify/finding.js'
import { refusalCodes } from '../../market/never-worse.js'
import type { AddCommand } from '../dependencies.js'
import { succeed } from '../dependencies.js'
import { targetForms } from '../export/targets.js'
import { exampleText } from '../options.js'
import { bashScript, fishScript, zshScript } from './scripts.js'
import { describeCommands, type Placeholders } from './words.js'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const

const examples = [
  ["echo 'source <(scripstream completion bash)' >> ~/.bashrc", 'bash: takes effect in new shells'],
  ["echo 'source <(scripstream completion zsh)' >> ~/.zshrc", 'zsh: add it after compinit; takes effect in new shells'],
  ['scripstream completion fish > ~/.config/fish/completions/scripstream.fish', 'fish: takes effect at once'],
] as const

export const addCompletion: AddCommand = (program, { io, dependencies, act }) => {
  const names = dependencies.streams.map(({ name }) => name)
  const known: Placeholders = {
    stream: { kind: 'word', words: names },
    streams: { kind: 'list', words: names },
    checks: { kind: 'list', words: checkNames },
    kinds: { kind: 'list', words: sectionNames },
    rules: { kind: 'list', words: refusalCodes },
    target: { kind: 'target', words: targetForms },
  }
  program
    .command('completion')
    .description('Prints a shell completion script for commands, options and their values.')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(Object.keys(scripts)))
    .addHelpText('after', exampleText(examples))
    .action((name: keyof typeof scripts) => act(succeed(() => io.stdout.write(scripts[name](describeCommands(program, known))))))
}
