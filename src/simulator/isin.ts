const letterA = 'A'.charCodeAt(0)

/** An Indian equity ISIN, check digit included. Distinct numbers from 0 to `isinCount - 1` give distinct ISINs. */
export const createIsin = (number: number): string => {
  const digits = String(number % 1_000).padStart(3, '0')
  const letter = String.fromCharCode(letterA + (Math.floor(number / 1_000) % 26))
  const issue = String(1 + Math.floor(number / 26_000)).padStart(2, '0')
  const body = `INE${digits}${letter}01${issue}`
  return `${body}${computeCheckDigit(body)}`
}

export const ISIN_COUNT = 26_000 * 99

/** The check digit of ISO 6166: letters become 10 to 35, then Luhn over all digits; the last digit is doubled. */
export const computeCheckDigit = (body: string): number => {
  const digits = [...body].map((character) => Number.parseInt(character, 36)).join('')
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const weighted = Number(digit) * (index % 2 === 0 ? 2 : 1)
    return total + (weighted > 9 ? weighted - 9 : weighted)
  }, 0)
  return (10 - (sum % 10)) % 10
}
