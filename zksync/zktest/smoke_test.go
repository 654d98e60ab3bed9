package zktest
import ("testing";"time")
func TestSmoke(t *testing.T){
 for _,n:=range []int{1,3,1,3}{
  s:=time.Now(); e:=StartEnsemble(t,n); t.Log(n,time.Since(s))
  for i:=range n { a,_:=e.FourLetter(i,"srvr"); t.Log(a); a,_=e.FourLetter(i,"dump"); t.Log(a); a,_=e.FourLetter(i,"cons"); t.Log(a)}
  s=time.Now(); e.Close(); t.Log("close",time.Since(s))
 }
}
