import { forkJoin, from, type Observable, type ObservableInput, type ObservedValueOf, of, single } from 'rxjs'

/**
 * Emits the values of all branches, a list, tuple or record as they were given, once all have completed; an
 * empty one without branches. Errors if a branch completes without a value or emits two: `forkJoin` alone
 * would complete silently on an empty branch.
 *
 * @example barrier([first$, second$]).subscribe(([first, second]) => console.log(first, second))
 * @example barrier({ prices: prices$, news: news$ }).subscribe(({ prices, news }) => console.log(prices, news))
 */
export const barrier = <
  const All extends readonly ObservableInput<unknown>[] | Readonly<Record<string, ObservableInput<unknown>>>,
>(
  branches: All,
): Observable<{ -readonly [Key in keyof All]: ObservedValueOf<All[Key]> }> => {
  const whole = Object.entries(branches).map(
    ([name, branch]) => [name, from(branch as ObservableInput<unknown>).pipe(single())] as const,
  )
  const empty = Array.isArray(branches) ? [] : {}
  const joined$: Observable<unknown> =
    whole.length === 0
      ? of(empty)
      : Array.isArray(branches)
        ? forkJoin(whole.map(([, one$]) => one$))
        : forkJoin(Object.fromEntries(whole))
  return joined$ as Observable<{ -readonly [Key in keyof All]: ObservedValueOf<All[Key]> }>
}
