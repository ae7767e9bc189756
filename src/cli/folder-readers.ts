// Modules that read a whole output folder, imported only by their commands: a run starts faster without them.
export { createBrief } from '../show/brief.js'
export { deleteDays, findDeletable } from '../storage/history/delete.js'
export { diff } from '../tables/diff/diff.js'
export { diffDays } from '../tables/diff/diff-days.js'
export { describeHistory } from '../tables/history/describe-history.js'
export { readStockView } from '../tables/stock-view.js'
export { verifyAndRecord } from '../verify/recorded-checks.js'
export { verify } from '../verify/verify.js'
