/** Tells the failures of single items from those of their host. */
export interface ItemFailures {
  /** Answers of the host so far. */
  readonly answers: () => number
  readonly onAnswer: (key: string) => void
  /**
   * Whether a failure is the item's own: it has failed before, and the host has answered others since. Such an item stays the cause of its
   * failures until it is answered; a list is judged anew each time, because few others show whether the host works.
   */
  readonly isOwn: (key: string, isList: boolean) => boolean
}

export const createItemFailures = (): ItemFailures => {
  /** The number of answers when an item last failed; -1 for items that fail by themselves. */
  const answersAtFailure = new Map<string, number>()
  let answers = 0
  return {
    answers: () => answers,
    onAnswer: (key) => {
      answers += 1
      answersAtFailure.delete(key)
    },
    isOwn: (key, isList) => {
      const isOwn = (answersAtFailure.get(key) ?? answers) < answers
      answersAtFailure.set(key, isOwn && !isList ? -1 : answers)
      return isOwn
    },
  }
}
