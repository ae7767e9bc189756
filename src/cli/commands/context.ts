import type { Command } from 'commander'
import type { Observable } from 'rxjs'
import type { Dependencies, ProcessIo } from '../dependencies.js'

/** What a command declaration needs: the arguments as typed, the process, and the dependencies. */
export interface CommandContext {
  readonly args: readonly string[]
  readonly io: ProcessIo
  readonly dependencies: Dependencies
  /** Runs a command to its end and stores its exit code. */
  readonly act: (code$: Observable<number>) => Promise<void>
}

/** Declares one command, with its options and examples, on the program. */
export type AddCommand = (program: Command, context: CommandContext) => void
