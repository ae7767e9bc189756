import { addCompletion } from './completion.js'
import type { AddCommand } from './context.js'
import { addDiff } from './diff.js'
import { addDoctor } from './doctor.js'
import { addDrift } from './drift.js'
import { addExport } from './export.js'
import { addGraph } from './graph.js'
import { addList } from './list.js'
import { addPlan } from './plan.js'
import { addQuery } from './query.js'
import { addRun } from './run.js'
import { addSimulate } from './simulate.js'
import { addStream } from './stream.js'
import { addVerify } from './verify.js'
import { addWorker } from './worker.js'

/** All commands, in the order in which `--help` lists them. */
export const commands: readonly AddCommand[] = [
  addRun,
  addStream,
  addQuery,
  addExport,
  addVerify,
  addDiff,
  addDrift,
  addDoctor,
  addPlan,
  addWorker,
  addSimulate,
  addList,
  addGraph,
  addCompletion,
]
