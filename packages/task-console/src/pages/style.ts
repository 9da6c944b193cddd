/** The style sheet. States are told by words and shapes; colours only repeat them. */
export const style: string = `
:root[data-theme=light]{color-scheme:light}:root[data-theme=dark]{color-scheme:dark}
:root{color-scheme:light dark;--fore:light-dark(#1a1d21,#e8e8e6);--back:light-dark(#fff,#15181b);--soft:light-dark(#f3f4f6,#1f2428);--line:light-dark(#d4d8dd,#3a4148);--dim:light-dark(#555c65,#a6adb5);--link:light-dark(#0b57a4,#82baff);--good:light-dark(#17652f,#72d190);--wait:light-dark(#7d4b00,#f2bd63);--bad:light-dark(#ad1420,#ff948d);--busy:light-dark(#0b57a4,#82baff)}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--fore);font:15px/1.6 system-ui,sans-serif;overflow-wrap:anywhere}
a{color:var(--link);text-underline-offset:.2em}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99em}.skip:focus{left:1em;top:.4em;background:var(--back);padding:.2em .6em;z-index:1}
header,main,footer{padding:.6rem max(1rem,calc(50vw - 40rem))}
header{display:flex;flex-wrap:wrap;align-items:center;gap:.3rem 1rem;background:var(--soft);border-bottom:1px solid var(--line)}
.brand{font-weight:700;color:inherit;text-decoration:none;padding:.2rem 0}
.environment{border:1px solid var(--bad);color:var(--bad);border-radius:3px;padding:0 .5em;font-size:.85em}
nav{display:flex;flex-wrap:wrap;gap:0 .2rem;flex:1}
nav a{padding:.2rem .5rem;text-decoration:none;border-bottom:2px solid transparent}
nav a[aria-current]{border-color:currentColor;font-weight:600}
form{display:flex;flex-wrap:wrap;gap:.4rem .6rem;align-items:center}main form{margin:0 0 .8rem}
main form.act{margin:0;display:inline-flex}.deeds{display:flex;flex-wrap:wrap;gap:.5rem .8rem;align-items:center;margin:.4rem 0 .8rem}.go{border-color:var(--link);font-weight:600}
form.long{flex-direction:column;align-items:stretch;max-width:40rem}form.long :is(input,textarea){width:100%}form.long button{align-self:start}.pair{display:inline-flex;gap:.4rem;align-items:end}details.deed{margin:0}fieldset{border:1px solid var(--line);border-radius:4px;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem}fieldset label,legend{color:inherit}form.long input[type=radio]{width:auto;min-height:1.5rem;vertical-align:middle}input[type=number]{width:7rem}
label{color:var(--dim);font-size:.9em}
input,select,button,textarea{font:inherit;color:inherit;background:var(--back);border:1px solid light-dark(#767d86,#7e8791);border-radius:4px;padding:.15rem .5rem;min-height:1.9rem;max-width:100%}
header input{width:11rem}
button{cursor:pointer;background:var(--soft)}
h1{font-size:1.45rem;line-height:1.3;margin:.5rem 0 .7rem}
h2{font-size:1.1rem;margin:1.6rem 0 .5rem}
.scroll{overflow-x:auto;margin:0 0 .6rem}
table{border-collapse:collapse;width:100%;overflow-wrap:normal}
caption{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
th,td{text-align:left;padding:.28rem .9rem .28rem 0;border-bottom:1px solid var(--line);vertical-align:top;font-weight:400}
thead th{color:var(--dim);font-size:.87em;white-space:nowrap}
.words{min-width:min(16rem,60vw);overflow-wrap:anywhere}
tbody th{min-width:7rem;max-width:32rem;overflow-wrap:anywhere}
.number{text-align:right;font-variant-numeric:tabular-nums}
tbody tr[aria-selected]{background:var(--soft)}
time,.state{white-space:nowrap}
.good{color:var(--good)}.wait{color:var(--wait)}.bad{color:var(--bad)}.busy{color:var(--busy)}.off{color:var(--dim)}
.box{border:1px solid var(--line);border-left:4px solid var(--line);border-radius:4px;padding:.5rem .9rem;margin:0 0 1rem}
.box.bad{border-left-color:var(--bad);color:inherit}.box.wait{border-left-color:var(--wait);color:inherit}.box.good{border-left-color:var(--good);color:inherit}.box.busy{border-left-color:var(--busy);color:inherit}.box.off{color:inherit}
.box h2{margin:0 0 .3rem}.box p{margin:.2rem 0}.box .answer{font-size:1.08em}
ul{margin:.2rem 0;padding-left:1.2rem}.findings{list-style:none;padding:0}.findings li{padding:.15rem 0}
code,pre{font:.9em/1.5 ui-monospace,monospace}
.command{background:var(--soft);padding:.1rem .4rem;border-radius:3px}
pre{background:var(--soft);border:1px solid var(--line);padding:.6rem;margin:.3rem 0;max-height:30rem;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(10rem,100%),1fr));gap:.4rem 1.2rem;margin:.6rem 0}
dt{color:var(--dim);font-size:.87em}dd{margin:0}
details{margin:.4rem 0}summary{cursor:pointer;padding:.1rem 0}
.note,.empty,footer{color:var(--dim)}
footer{display:flex;flex-wrap:wrap;gap:0 1.5rem;border-top:1px solid var(--line);margin-top:2rem;font-size:.9em}
footer p{margin:.3rem 0}
dialog{background:var(--back);color:inherit;border:1px solid var(--line);border-radius:6px;max-width:min(34rem,92vw)}
kbd{font:.9em ui-monospace,monospace;border:1px solid var(--line);border-radius:3px;padding:0 .35em}
@media(max-width:45rem){nav{order:1;flex-basis:100%;margin:0 -.5rem}header form{margin-left:auto}header label,header button{position:absolute;clip-path:inset(50%)}header input{width:8rem}}
@media(prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
`.trim()
