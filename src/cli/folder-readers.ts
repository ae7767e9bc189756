// Modules that read a whole output folder, imported only by their commands: a run starts faster without them.
export { createBrief } from '../analysis/brief/brief.js'
export { diff } from '../analysis/diff/diff.js'
export { readReport } from '../analysis/output-folder.js'
export { verify } from '../analysis/verify/verify.js'
