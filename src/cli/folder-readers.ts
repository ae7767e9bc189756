// Modules that read a whole output folder, imported only by their commands: a run starts faster without them.
export { diff } from '../analysis/diff/diff.js'
export { verify } from '../analysis/verify/verify.js'
