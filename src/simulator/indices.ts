import type { SampleIndex } from '../model/market.js'
import { createPermutation } from './random.js'

const INDEX_COUNT = 194
// Below the Sid of every stock: requests for candles name only the Sid.
const INDEX_SID_COUNT = 1_000

/** The market's indices. Two of them share a symbol, as at the real provider; only their Sids differ. */
export const createIndices = (): readonly SampleIndex[] => {
  const sidAt = createPermutation(INDEX_SID_COUNT, 0)
  return [...awkwardIndices, ...themedIndices]
    .slice(0, INDEX_COUNT)
    .map(([Sym, DispSym], index) => ({ Sym, DispSym, Sid: sidAt(index + 1) }))
    .sort((a, b) => (a.Sym < b.Sym ? -1 : a.Sym > b.Sym ? 1 : a.Sid - b.Sid))
}

type IndexNames = readonly [Sym: string, DispSym: string]

const awkwardIndices: readonly IndexNames[] = [
  ['NIFTY', 'Nifty 50'],
  ['SENSEX', 'Sensex'],
  ['INDIA VIX', 'India VIX'],
  ['CAPINS', 'BSE Capital Markets & Insurance'],
  ['CAPINS', 'BSE Capital Goods Industrial Solutions'],
  ['NIFTY FINSRV25 50', 'Nifty Financial Services 25/50'],
  ['NIFTY500 MULTICAP', 'Nifty 500 Multicap 50:25:25'],
  ['NIFTY TATA 25 CAP', 'Nifty India Corporate Group Index - Tata Group 25% Cap'],
  ['Nifty Corp MAATR', 'Nifty India Select 5 Corp Grps (MAATR)'],
  ['Nifty GS 11 15Yr', 'Nifty 11-15 Yr G Sec'],
]

const themes =
  'Auto Bank Cement Chemicals Commodities Consumption Defence Digital Durables Energy Finance FMCG Healthcare Housing Infra IT Logistics Media Metal MNC Oil Pharma Power Realty Retail Rural Services Telecom Tourism Transport'.split(
    ' ',
  )

const indexFamilies: readonly ((theme: string) => IndexNames)[] = [
  (theme) => [`NIFTY ${theme.toUpperCase()}`, `NIFTY ${theme}`],
  (theme) => [`Nifty ${theme} EW`, `Nifty ${theme} Equal Weight`],
  (theme) => [`NIFTY500 ${theme.toUpperCase()}`, `Nifty 500 ${theme}`],
  (theme) => [`BSE ${theme.toUpperCase()}`, `BSE ${theme}`],
  (theme) => [`Nifty MS ${theme}`, `Nifty Mid Small ${theme}`],
  (theme) => [`NIFTY ${theme.toUpperCase()} 35 20`, `Nifty ${theme} 35/20 (Capped)`],
  (theme) => [`${theme.slice(0, 4).toUpperCase()}${theme.length}TR`, `BSE ${theme} 65:35 TR`],
]

const themedIndices = indexFamilies.flatMap((named) => themes.map(named))
