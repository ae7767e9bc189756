/** Whether a filing is of results. Late companies file a notice of delay as results. */
export const IS_RESULT = `((descriptor ILIKE '%financial result%' OR category ILIKE '%financial result%' OR (descriptor ILIKE '%outcome%board meeting%' AND caption ILIKE '%result%'))
  AND NOT regexp_matches(lower(concat_ws(' ', caption, descriptor)), 'delay in financial result|clarification'))`

/** The end of a quarter as companies write it: "ended on the 30th June", "for 31-12-2025". */
const PERIOD = String.raw`\b(?:end|ended|ending|for|period|quarter)(?: on| the| of| as| at)* ((?:3[01](?:st|th)? ?(?:of )?[,./-]? ?)?(?:march|june|sept?(?:ember)?|dec(?:ember)?)\b|3[01] ?[./-] ?(?:0?[369]|12)\b)`
const ORDINAL = String.raw`\b((?:0?[1-4](?:st|nd|rd|th)|first|second|third|fourth) quarter|q-?[1-4](?:fy|\b))`

/** The month in which the quarter of a match of these ends, by the words that tell it. */
const MONTHS = [
  [3, 'march|[./-] ?0?3$|^fourth|^0?4th|^q-?4'],
  [6, 'june|[./-] ?0?6$|^first|^0?1st|^q-?1'],
  [9, 'sep|[./-] ?0?9$|^second|^0?2nd|^q-?2'],
  [12, 'dec|[./-] ?12$|^third|^0?3rd|^q-?3'],
] as const

/** The last end of a quarter in that month before the filing. */
const endOf = (month: number): string =>
  `last_day(make_date(year(filed_at) - CAST(${month} >= month(filed_at) AS INTEGER), ${month}, 1))`

const TEXT = String.raw`regexp_replace(lower(concat_ws(' . ', caption, body)), '(<[^>]*>|\s)+', ' ', 'g')`

/**
 * The last day of the newest quarter that a filing of results names. Years are not read: companies mistake
 * them.
 */
export const RESULT_PERIOD = `if(${IS_RESULT}, list_max(list_transform(list_concat(regexp_extract_all(${TEXT}, '${PERIOD}', 1), regexp_extract_all(${TEXT}, '${ORDINAL}', 1)),
  lambda words: ${MONTHS.reduceRight((other, [month, words]) => `if(regexp_matches(words, '${words}'), ${endOf(month)}, ${other})`, 'NULL')})), NULL)`
