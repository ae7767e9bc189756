import type { Observable } from 'rxjs'
import type { Endpoint } from './endpoint.js'

/** Asks the provider. Emits the answer once, or errors with what is left after the retries. */
export type Ask = <Input, Answer>(endpoint: Endpoint<Input, Answer>, input: Input) => Observable<Answer>
