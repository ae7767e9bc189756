import { z } from 'zod'

/** A row of the master list as answered; figures and unknown fields pass through. */
export const MasterRow = z.looseObject({
  Sym: z.string().nullish(),
  Isin: z.string().nullish(),
  DispSym: z.string().nullish(),
  Sid: z.union([z.string(), z.number()]).nullish(),
  FnoFlag: z.number().nullish(),
})
export type MasterRow = z.output<typeof MasterRow>

/** An element of `master_isin_map.json`: exactly these fields, in this order. */
export interface Stock {
  readonly Symbol: string
  readonly ISIN: string
  readonly Name: string
  /** The provider's security id, always text; candles and indicators are asked by it. */
  readonly Sid: string
  readonly FnoFlag: number
}

/** The stock of a master row, or nothing where the row lacks its symbol or ISIN. */
export const stockOf = (row: MasterRow): Stock | undefined =>
  row.Sym && row.Isin
    ? { Symbol: row.Sym, ISIN: row.Isin, Name: row.DispSym ?? '', Sid: String(row.Sid ?? ''), FnoFlag: row.FnoFlag ?? 0 }
    : undefined
