import fc from 'fast-check'

/** Set `FUZZ_SEED=7 FUZZ_RUNS=300000` for other and more payloads. */
export const seed = Number(process.env.FUZZ_SEED ?? 20_260_212)
export const runs = Number(process.env.FUZZ_RUNS ?? 30_000)

/** Keys and texts that are known to break parsers. */
const NASTY = [
  '__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'toJSON', 'hasOwnProperty', 'length', 'then',
  '', ' ', '0', '-1', 'null', 'NaN', '1e999', '../../x', 'CON', 'a\0b', '\u001b[2J', '\u2028', '\ud800', '\u202e', '=1+1', '😀', 'x'.repeat(300),
] as const // biome-ignore format: a list of words

const FIELDS = [
  'data', 'Sym', 'Isin', 'isin', 'Sid', 'DispSym', 'FnoFlag', 'latest_news', 'news_object', 'publish_date', 'news_id', 'news_date', 'file_url',
  'caption', 'CorpAct', 'ExDate', 'date', 'totalcount', 'Time', 'o', 'h', 'l', 'c', 'v', 'table', 'rows', 'props', 'pageProps', 'buildId',
  'status', 'code', 'error', 'errors', 'success', 'message', 'title', 'text',
] as const // biome-ignore format: a list of words

const text = fc.oneof(fc.constantFrom(...NASTY), fc.string({ maxLength: 8 }))
const key = fc.oneof(fc.constantFrom(...FIELDS), fc.constantFrom(...NASTY), fc.string({ maxLength: 4 }))
const leaf = fc.oneof(text, fc.double(), fc.integer(), fc.boolean(), fc.constant(null))

/** A record as JSON text, because objects cannot have duplicate keys or an own `__proto__` from a literal. */
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf.map((given) => JSON.stringify(given)),
    fc.constant('{"toString":1,"valueOf":null,"toJSON":[]}'),
    fc.array(tie('value'), { maxLength: 5 }).map((values) => `[${values.join(',')}]`),
    fc
      .array(fc.tuple(key, tie('value')), { maxLength: 6 })
      .map((fields) => `{${fields.map(([name, given]) => `${JSON.stringify(name)}:${given}`).join(',')}}`),
    fc
      .tuple(tie('value'), fc.constantFrom(1, 70, 500))
      .map(([given, levels]) => `${'['.repeat(levels)}${given}${']'.repeat(levels)}`),
  ),
}))

const pollution = '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}'

/** Records with every field that is read, all with the same unusual value. */
const strangeRecords = value.map((given) => `[{${FIELDS.map((field) => `"${field}":${given}`).join(',')}}]`)

/** Any JSON, mostly in the envelope of the endpoints. */
export const jsonPayload = fc.oneof(
  value,
  value.map((data) => `{${pollution},"data":${data}}`),
  value.map((data) => `{"data":[{${pollution},"Sym":"A","CorpAct":${data},"news_id":${data}}]}`),
  strangeRecords.map((data) => `{"data":${data}}`),
  strangeRecords.map((data) => `{"data":{"latest_news":${data}}}`),
  value.map((given) => `{"data":{"latest_news":${given},"Time":${given},"o":${given}}}`),
)

export const wrappedPayload = fc.oneof(
  value.map((rows) => `google.visualization.Query.setResponse({${pollution},"table":{"rows":${rows}}});`),
  value.map((cells) => `/*O_o*/\nsetResponse({"table":{"rows":[{${pollution},"c":${cells}}]}})`),
  fc.tuple(value, text).map(([given, noise]) => `${noise}setResponse(${given}${noise})`),
)

export const pagePayload = fc
  .tuple(
    fc.constantFrom('', '<!--', '<script>', '<script "', "<script a='", '<script x=1></script>'),
    value,
    text,
  )
  .map(
    ([before, given, noise]) =>
      `<html>${before}<script id="__NEXT_DATA__">{${pollution},"buildId":"${noise}","props":{"pageProps":${given}}}</script>${noise}`,
  )

export const tablePayload = fc
  .tuple(
    fc.constantFrom(
      'Symbol,Series,Band',
      'Symbol,From,To',
      'SYMBOL,NAME OF COMPANY,DATE OF LISTING',
      '__proto__,constructor,Symbol',
    ),
    fc.array(
      fc.array(fc.oneof(text, fc.constantFrom('"', '""', '"a', 'a"b', '"a\nb"', '\r', '\t=1')), {
        maxLength: 5,
      }),
      {
        maxLength: 12,
      },
    ),
    fc.constantFrom('\n', '\r\n', '\r', '\n\r'),
  )
  .map(([header, rows, end]) => [header, ...rows.map((cells) => cells.join(','))].join(end))

/** Inserts, removes, doubles and changes bytes. The same numbers give the same text. */
export const mutated = (
  whole: string,
  changes: readonly (readonly [kind: number, at: number, what: number])[],
): string =>
  changes.reduce((before, [kind, at, what]) => {
    const place = at % (before.length + 1)
    const end = place + (what % 40)
    switch (kind % 6) {
      case 0:
        return before.slice(0, place) + before.slice(end)
      case 1:
        return before.slice(0, place) + String.fromCharCode(what % 128) + before.slice(place)
      case 2:
        return before.slice(0, place) + before.slice(place, end).repeat(3) + before.slice(end)
      case 3:
        return before.slice(0, place) + (NASTY[what % NASTY.length] ?? '') + before.slice(place)
      case 4:
        return (
          before.slice(0, place) +
          before.slice(end, end + 40) +
          before.slice(place, end) +
          before.slice(end + 40)
        )
      default:
        return before.slice(0, place)
    }
  }, whole)

export const changes = fc.array(fc.tuple(fc.nat(5), fc.nat(), fc.nat()), { minLength: 1, maxLength: 3 })
