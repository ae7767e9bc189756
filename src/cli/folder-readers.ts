// Modules that read a whole output folder, imported only by their commands: a run starts faster without them.
export { createBrief } from '../analysis/brief/brief.js'
export { diff } from '../analysis/diff/diff.js'
export { diffDays } from '../analysis/diff/diff-days.js'
export { describeHistory } from '../analysis/history/describe-history.js'
export { readStockView } from '../analysis/stock-view.js'
export { verifyAndRecord } from '../analysis/verify/recorded-checks.js'
export { verify } from '../analysis/verify/verify.js'
export { deleteDays, findDeletable } from '../storage/history/delete.js'
