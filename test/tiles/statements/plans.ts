/** Settings of functions. A plan that is made while a table is small, and kept, would read it from its beginning for ever. */
export const plans = 'set enable_seqscan = off set enable_bitmapscan = off'
