/** Texts that must pass unchanged through a statement, an array or a row. */
export const awkward = [
  `it's "quoted" \\ and \\\\ back\\'slashed`,
  '100% %s %i %% $1 $2::int8 ? ?? :name @p ${x} --',
  '{}',
  '{a,b,{c}},"d",NULL',
  'null',
  'line one\nline two\r\n\ttabbed',
  '🎉 漢字 e\u0301 \u2028 \u{10FFFF}',
  `'); drop table invoice; --`,
  '/* comment */ ;',
]
