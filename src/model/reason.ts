/** A reason without what it says in brackets, which may differ from item to item. */
export const kindOf = (reason: string): string => reason.replace(BRACKETS, '')

/** Texts within them are quoted, and may hold brackets of their own. */
const BRACKETS = / \((?:"(?:[^"\\]|\\.)*"|[^()"])*\)/g
