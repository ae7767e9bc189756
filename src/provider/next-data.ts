// What a page's scripts are told apart by. Each is tried at one place, or goes forward only: a page is read once, whatever is in it.
const START = /<!--|<script(?=[\s/>])/gi
const REST_OF_TAG = /((?:[^"'>]|"[^"]*"|'[^']*')*)>/y
const END = /<\/script(?=[\s/>])/gi
const IS_NEXT_DATA = /(?:^|[\s"'])id\s*=\s*(["']?)__NEXT_DATA__\1(?:\s|$)/i

/** A tag without an end would else be looked through to the end of the page. */
const LONGEST_TAG = 2_000

/** The content of a page's script element `__NEXT_DATA__`; nothing if the page has no whole one. Takes time in proportion to the page. */
export const nextDataIn = (page: string): string | undefined => {
  for (let at = 0; ; ) {
    const start = matchFrom(START, page, at)
    if (start === undefined) return undefined
    if (start[0] === '<!--') {
      const end = page.indexOf('-->', start.index)
      if (end < 0) return undefined
      at = end
      continue
    }
    const after = start.index + start[0].length
    const tag = matchFrom(REST_OF_TAG, page.slice(after, after + LONGEST_TAG), 0)
    if (tag === undefined) return undefined
    const from = after + tag[0].length
    const end = matchFrom(END, page, from)
    if (end === undefined) return undefined
    if (IS_NEXT_DATA.test(tag[1] ?? '')) return page.slice(from, end.index)
    at = end.index
  }
}

const matchFrom = (pattern: RegExp, text: string, from: number): RegExpExecArray | undefined => {
  pattern.lastIndex = from
  return pattern.exec(text) ?? undefined
}
