import type { Brief } from '../../analysis/brief/brief.js'
import { formatChange, formatDaysIn } from '../../web/page/parts/format.js'
import { briefHead, briefParts, filingLinks } from './lines.js'

/** A text as HTML shows it, whatever it contains. */
export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')

/** What a document has besides the brief: HTML before its parts, and rules of style. */
interface MoreHtml {
  readonly body: string
  readonly style: string
}

/** For a mail: one self-contained document without scripts. */
export const briefHtml = (brief: Brief, more: MoreHtml = { body: '', style: '' }): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(formatDaysIn(briefHead(brief)))}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:50rem;margin:1rem auto;padding:0 1rem;color-scheme:light dark}h2{font-size:1rem;margin:1rem 0 .2rem}ul{margin:0;padding-left:1.2rem}${more.style}</style>
</head>
<body>
<p><strong>${escapeHtml(formatDaysIn(briefHead(brief)))}</strong></p>
${more.body}${briefParts(brief)
  .map(
    ({ title, lines }) =>
      `<h2>${escapeHtml(formatDaysIn(title))}</h2>\n${lines.length === 0 ? '' : `<ul>\n${lines.map((line) => `<li>${escapeHtml(formatChange(line))}</li>`).join('\n')}\n</ul>`}`,
  )
  .join('\n')}
${filingLinks(brief)
  .map(({ text, url }, index) => `${index === 0 ? '<h2>Filings</h2>\n' : ''}<p><a href="${escapeHtml(url)}">${escapeHtml(text)}</a></p>`)
  .join('\n')}
</body>
</html>
`
