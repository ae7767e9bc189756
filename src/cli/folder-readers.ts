// What reads a whole output folder, in one piece: only the commands that do load it, so that a run starts without.
export { diff } from '../changes/diff.js'
export { verify } from '../checks/verify.js'
