// Modules that read a whole output folder, imported only by their commands: a run starts faster without them.
export { diff } from '../changes/diff.js'
export { verify } from '../checks/verify.js'
