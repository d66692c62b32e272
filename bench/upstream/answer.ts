/** What the benchmark's upstream answers to every request: 110 bytes of JSON, and what every subject has to pass on unchanged. */
export const UPSTREAM_ANSWER =
  '{"id":"crs_01J8Z3","title":"Introduction to linear algebra","lessons":24,"published":true,"price_cents":49900}'
