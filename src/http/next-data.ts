// The patterns are sticky or move forward only, so a page is scanned once whatever it contains (no ReDoS).
const START = /<!--|<script(?=[\s/>])/gi
const REST_OF_TAG = /((?:[^"'>]|"[^"]*"|'[^']*')*)>/y
const END = /<\/script(?=[\s/>])/gi
const IS_NEXT_DATA = /(?:^|[\s"'])id\s*=\s*(["']?)__NEXT_DATA__\1(?:\s|$)/i

/** Bounds the scan of a tag without an end. */
const MAX_TAG_LENGTH = 2_000

/** Finds the content of a page's script element `__NEXT_DATA__`, in linear time; nothing if there is no complete one. */
export const findNextData = (page: string): string | undefined => {
  for (let at = 0; ; ) {
    const start = matchAt(START, page, at)
    if (start === undefined) return undefined
    if (start[0] === '<!--') {
      const end = page.indexOf('-->', start.index)
      if (end < 0) return undefined
      at = end
      continue
    }
    const after = start.index + start[0].length
    const tag = matchAt(REST_OF_TAG, page.slice(after, after + MAX_TAG_LENGTH), 0)
    if (tag === undefined) return undefined
    const from = after + tag[0].length
    const end = matchAt(END, page, from)
    if (end === undefined) return undefined
    if (IS_NEXT_DATA.test(tag[1] ?? '')) return page.slice(from, end.index)
    at = end.index
  }
}

const matchAt = (pattern: RegExp, text: string, from: number): RegExpExecArray | undefined => {
  pattern.lastIndex = from
  return pattern.exec(text) ?? undefined
}
