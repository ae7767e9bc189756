import { addBrief } from './brief/command.js'
import { addCompletion } from './completion.js'
import type { CommandGroups } from './dependencies.js'
import { addDiff } from './diff.js'
import { addDoctor } from './doctor/command.js'
import { addExport } from './export/command.js'
import { addHistory } from './history/command.js'
import { addInit } from './init.js'
import { addList } from './list.js'
import { addMcp } from './mcp/command.js'
import { addQuery } from './query/command.js'
import { addRun } from './run/command.js'
import { addSchedule } from './schedule.js'
import { addServe } from './serve.js'
import { addShow } from './show.js'
import { addSimulate } from './simulate.js'
import { addStream } from './stream/command.js'
import { addVerify } from './verify/command.js'
import { addWatch } from './watch.js'
import { addWorker } from './worker.js'

/** All commands by what they are for, in the order of the help. */
export const commands: CommandGroups = {
  'Collect:': [addRun, addStream],
  'Ask:': [addBrief, addShow, addQuery, addDiff, addWatch, addServe, addMcp],
  'Check:': [addVerify, addHistory],
  'Keep:': [addExport],
  'Operate:': [addInit, addDoctor, addSchedule, addWorker],
  'Develop:': [addList, addSimulate, addCompletion],
}
