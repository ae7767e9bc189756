/** A reason without its details in brackets, which differ between items. */
export const stripBrackets = (reason: string): string => reason.replace(BRACKETS, '')

/** Quoted texts inside the brackets may contain brackets themselves. */
const BRACKETS = / \((?:"(?:[^"\\]|\\.)*"|[^()"])*\)/g
